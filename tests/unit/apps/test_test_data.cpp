// The gradients in tests/data, and compressed files that end early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "apps/support/gradient_files.h"
#include "tests/unit/apps/scratch.h"

namespace sumwire::apps {
namespace {

double density(const std::vector<float>& values) {
    const auto zeros = std::ranges::count(values, 0.0F);
    return 1 - static_cast<double>(zeros) / static_cast<double>(values.size());
}

TEST(NcfGradients, AreWhatTheyAreSaidToBe) {
    const auto files = find_gradients({SUMWIRE_TEST_DATA "/gradients/ncf"}, std::nullopt);
    EXPECT_EQ(files.model, "ncf");
    EXPECT_EQ(files.step, "step040");
    const auto ranks = read_gradients(files);
    ASSERT_EQ(ranks.size(), 4U);
    std::vector<float> any(2'864'801);
    for (const auto& rank : ranks) {
        ASSERT_EQ(rank.size(), any.size());
        EXPECT_NEAR(density(rank), 0.043, 0.002);
        for (std::size_t i = 0; i < any.size(); ++i)
            if (rank[i] != 0) any[i] = 1;
    }
    EXPECT_NEAR(density(any), 0.143, 0.0005);
}

class Compressed : public Scratch {
  protected:
    const std::string file_ = float32_npy("(3,)", "abcdefghijkl");
};

TEST_F(Compressed, MayBeSeveralFrames) {
    std::string frames;
    for (std::size_t begin = 0; begin < file_.size(); begin += 7)
        frames += compress(std::string_view(file_).substr(begin, 7));
    EXPECT_EQ(read_npy(write("frames.npy.zst", frames)), read_npy(write("plain.npy", file_)));
}

// The decoder has all values before it has seen the frame's end.
TEST_F(Compressed, IsTruncatedWhereverItEndsEarly) {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    std::string packed(ZSTD_compressBound(file_.size()), '\0');
    packed.resize(
        ZSTD_compress2(context, packed.data(), packed.size(), file_.data(), file_.size()));
    ZSTD_freeCCtx(context);
    for (std::size_t bytes = 4; bytes < packed.size(); ++bytes) {
        const auto path = write("cut.npy.zst", packed.substr(0, bytes));
        EXPECT_THAT(message_of<InputError>([&] { read_npy(path); }),
                    testing::HasSubstr("ends inside its zstd frame"))
            << bytes;
    }
}

}  // namespace
}  // namespace sumwire::apps
