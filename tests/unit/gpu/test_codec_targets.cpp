// Every instruction set gives the bits that plain C++ gives: messages, results, and what the codec
// says of them. Ranks of one job need not have the same processor.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/gpu/support/inputs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/unit/gpu/test_codec_targets.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::testing::HWY_NAMESPACE {
namespace {

std::int64_t this_target() {
    return HWY_TARGET;
}

}  // namespace
}  // namespace sumwire::gpu::testing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu::testing {
namespace {

HWY_EXPORT(this_target);

// The least capable: EMU128, or SCALAR with compilers that EMU128 does not work with.
constexpr auto plain = static_cast<std::int64_t>(std::bit_floor(std::uint64_t{HWY_TARGETS}));
static_assert(plain == HWY_EMU128 || plain == HWY_SCALAR);

// Restricts dispatch to one target as long as it lives.
class OnTarget {
  public:
    explicit OnTarget(std::int64_t target) {
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
    ~OnTarget() {
        hwy::SetSupportedTargetsForTest(0);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
    OnTarget(const OnTarget&) = delete;
    OnTarget& operator=(const OnTarget&) = delete;
};

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& to, const T* values, std::size_t count) {
    const std::span more = std::as_bytes(std::span(values, count));
    to.insert(to.end(), more.begin(), more.end());
}

// A rank's elements of the type, made from floats' bits.
Bytes elements_of(DataType type, const std::vector<float>& floats) {
    Bytes bytes;
    for (const float value : floats) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const auto upper = static_cast<std::uint16_t>(bits >> 16);
        // Zero for zero, and as wide a range as the type has.
        const auto mixed = static_cast<std::uint16_t>(upper ^ bits);
        const std::uint64_t doubled = std::uint64_t{bits} << 32 | bits;
        switch (type) {
            case DataType::bf16:
                append(bytes, &upper, 1);
                break;
            case DataType::f16:
                append(bytes, &mixed, 1);
                break;
            case DataType::f32:
            case DataType::i32:
                append(bytes, &bits, 1);
                break;
            case DataType::f64:
            case DataType::i64:
                append(bytes, &doubled, 1);
                break;
        }
    }
    return bytes;
}

struct Task {
    Reduction reduction = Reduction::sum;
    std::uint32_t expected_union = ChunkTask::unknown_union;
};

using Codecs = std::vector<std::unique_ptr<ChunkCodec>>;

// All that ranks hand over and end with.
Bytes transcript(const Codecs& codecs, const Task& shared, std::vector<Bytes> memory,
                 std::uint32_t count) {
    Bytes all;
    for (std::size_t r = 0; r < codecs.size(); ++r) {
        ChunkTask task;
        task.values = memory[r].data();
        task.count = count;
        task.reduction = shared.reduction;
        task.seed = 0x1234'5678'9abc'def0;
        task.expected_union = shared.expected_union;
        EXPECT_EQ(codecs[r]->begin(task), Progress::exchange);
    }
    for (Progress progress = Progress::exchange; progress == Progress::exchange;) {
        for (const auto& codec : codecs) {
            for (const Message& message : codec->messages())
                append(all, message.bytes.data(), message.bytes.size());
        }
        for (std::size_t m = 0; m < codecs[0]->messages().size(); ++m)
            combine_message(codecs, m);
        for (const auto& codec : codecs)
            progress = codec->advance();
        EXPECT_NE(progress, Progress::inconsistent);
    }
    for (std::size_t r = 0; r < codecs.size(); ++r) {
        append(all, memory[r].data(), memory[r].size());
        const std::uint32_t union_size = codecs[r]->union_size();
        append(all, &union_size, 1);
        const bool stalled = codecs[r]->stalled();
        append(all, &stalled, 1);
    }
    return all;
}

bool exists(const CodecConfig& config) {
    const bool as_elements = config.extrema || size_of(config.type) == sizeof(std::uint64_t);
    if (as_elements) return config.codec == Codec::dense && config.arithmetic == Arithmetic::exact;
    if (config.type == DataType::i32 && config.arithmetic != Arithmetic::exact) return false;
    return config.codec != Codec::sketch ||
           (config.type != DataType::i32 && config.arithmetic != Arithmetic::f32);
}

std::vector<CodecConfig> all_configs() {
    std::vector<CodecConfig> configs;
    for (const DataType type : {DataType::f32, DataType::bf16, DataType::f16, DataType::f64,
                                DataType::i32, DataType::i64}) {
        for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
            for (const Arithmetic arithmetic :
                 {Arithmetic::exact, Arithmetic::f32, Arithmetic::fixed32}) {
                for (const bool extrema : {false, true}) {
                    const CodecConfig config{codec, arithmetic, 1, type, extrema};
                    if (exists(config)) configs.push_back(config);
                }
            }
        }
    }
    return configs;
}

std::vector<Task> tasks_of(const CodecConfig& config, std::uint32_t count) {
    if (config.extrema) return {{Reduction::minimum, 0}, {Reduction::maximum, 0}};
    std::vector<Task> tasks{{Reduction::sum}, {Reduction::average}};
    if (config.codec == Codec::sketch) tasks.push_back({Reduction::sum, count / 5});
    return tasks;
}

std::vector<std::int64_t> other_targets() {
    std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    std::erase(targets, plain);
    return targets;
}

TEST(CodecTargets, DispatchFollowsTheChoice) {
    ASSERT_FALSE(other_targets().empty());
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        const OnTarget on(target);
        EXPECT_EQ(HWY_DYNAMIC_DISPATCH(this_target)(), target) << hwy::TargetName(target);
    }
    const OnTarget on(plain);
    EXPECT_EQ(HWY_DYNAMIC_DISPATCH(this_target)(), plain);
}

std::string name_of(const CodecConfig& config) {
    static constexpr const char* codecs[] = {"dense", "packed", "sketch"};
    static constexpr const char* arithmetics[] = {"exact", "f32", "fixed32"};
    static constexpr const char* types[] = {"f32", "bf16", "f16", "f64", "i32", "i64"};
    return std::string(codecs[static_cast<int>(config.codec)]) + "_" +
           arithmetics[static_cast<int>(config.arithmetic)] + "_" +
           types[static_cast<int>(config.type)] + (config.extrema ? "_extrema" : "");
}

class CodecTargets : public ::testing::TestWithParam<CodecConfig> {
  protected:
    // Whether all targets agree on these gradients.
    void compare(const Codecs& codecs, Values values, Pattern pattern, std::uint32_t count,
                 std::uint64_t seed) {
        std::vector<Bytes> memory;
        const auto world_size = static_cast<std::uint32_t>(codecs.size());
        for (const auto& gradient : make_gradients(values, pattern, world_size, count, seed))
            memory.push_back(elements_of(GetParam().type, gradient));
        for (const Task& task : tasks_of(GetParam(), count)) {
            const auto run_on = [&](std::int64_t target) {
                const OnTarget on(target);
                return transcript(codecs, task, memory, count);
            };
            const Bytes expected = run_on(plain);
            for (const std::int64_t target : other_targets()) {
                EXPECT_TRUE(run_on(target) == expected)
                    << hwy::TargetName(target) << ", " << world_size << " ranks, " << count
                    << " elements, values " << static_cast<int>(values) << ", pattern "
                    << static_cast<int>(pattern) << ", reduction "
                    << static_cast<int>(task.reduction);
            }
        }
    }
};

TEST_P(CodecTargets, AllGiveTheBitsOfPlainCode) {
    std::uint64_t seed = 0;
    for (const std::uint32_t world_size : {1u, 2u, 5u, 40u}) {
        CodecConfig config = GetParam();
        config.world_size = world_size;
        Codecs codecs;
        for (std::uint32_t r = 0; r < world_size; ++r)
            codecs.push_back(make_chunk_codec(host_device(), config));
        for (const Values values : all_values) {
            for (const Pattern pattern : all_patterns) {
                for (const std::uint32_t count : {1u, 31u, 70u, 1000u, 2500u}) {
                    if (world_size == 40 && count > 70) continue;
                    compare(codecs, values, pattern, count, ++seed);
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(CodecTargets, WholeChunksToo) {
    Codecs codecs;
    CodecConfig config = GetParam();
    config.world_size = 2;
    for (unsigned r = 0; r < 2; ++r)
        codecs.push_back(make_chunk_codec(host_device(), config));
    for (const Pattern pattern : {Pattern::full, Pattern::uniform, Pattern::runs})
        compare(codecs, Values::gradients, pattern, chunk_elements, 3);
}

INSTANTIATE_TEST_SUITE_P(All, CodecTargets, ::testing::ValuesIn(all_configs()),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace sumwire::gpu::testing
#endif
