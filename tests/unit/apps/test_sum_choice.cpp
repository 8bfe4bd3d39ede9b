// Codecs, arithmetics, operations and types by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "apps/support/sum_choice.h"

namespace sumwire::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename F>
std::string complaint_of(F&& f) {
    try {
        f();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

TEST(SumChoice, NamesAreReadAsTheyAreWritten) {
    for (const auto op : {ReduceOp::sum, ReduceOp::average, ReduceOp::minimum, ReduceOp::maximum})
        EXPECT_EQ(parse_reduce_op(name_of(op)), op);
    for (const auto type : {DataType::f32, DataType::bf16, DataType::f16, DataType::f64,
                            DataType::i32, DataType::i64})
        EXPECT_EQ(parse_data_type(name_of(type)), type);
    EXPECT_EQ(name_of(Codec::automatic), "auto");
}

TEST(SumChoice, UsuallySketchesAreFixed32AndAllOthersExact) {
    EXPECT_THAT(choose_sums({"all"}, {"default"}),
                ElementsAre(SumChoice{Codec::automatic, Arithmetic::exact},
                            SumChoice{Codec::dense, Arithmetic::exact},
                            SumChoice{Codec::packed, Arithmetic::exact},
                            SumChoice{Codec::sketch, Arithmetic::fixed32}));
}

TEST(SumChoice, NamedOnesAreCombined) {
    EXPECT_THAT(choose_sums({"packed", "dense"}, {"f32", "exact"}),
                ElementsAre(SumChoice{Codec::dense, Arithmetic::exact},
                            SumChoice{Codec::dense, Arithmetic::f32},
                            SumChoice{Codec::packed, Arithmetic::exact},
                            SumChoice{Codec::packed, Arithmetic::f32}));
}

TEST(SumChoice, AllLeavesOutWhatCannotBe) {
    EXPECT_EQ(choose_sums({"all"}, {"all"}).size(), 11U);
    EXPECT_EQ(choose_sums({"all"}, {"f32"}).size(), 3U);
    EXPECT_EQ(choose_sums({"sketch"}, {"all"}).size(), 2U);
}

TEST(SumChoice, UnknownNamesAndASketchOfFloatsAreRefusedWithTheRemedy) {
    EXPECT_THAT(complaint_of([] { choose_sums({"zip"}, {"exact"}); }),
                HasSubstr("'zip' is no codec: choose auto, dense, packed, sketch"));
    EXPECT_THAT(complaint_of([] { choose_sums({"all"}, {"f64"}); }),
                HasSubstr("choose exact, f32, fixed32"));
    EXPECT_THAT(complaint_of([] { choose_sums({"sketch"}, {"f32"}); }),
                HasSubstr("choose --arithmetic exact or fixed32"));
    EXPECT_THAT(complaint_of([] { parse_reduce_op("max"); }),
                HasSubstr("choose sum, average, minimum, maximum"));
    EXPECT_THAT(complaint_of([] { parse_data_type("f8"); }), HasSubstr("choose f32, bf16"));
}

}  // namespace
}  // namespace sumwire::apps
