#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>

#include "switch_emu/slot_memory.h"

namespace sumwire::aggregator {
namespace {

// In KiB.
std::size_t resident() {
    std::ifstream status("/proc/self/status");
    std::string word;
    std::size_t size = 0;
    while (status >> word) {
        if (word == "VmRSS:") status >> size;
    }
    return size;
}

TEST(SlotMemory, IsZeroedAndWritable) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{64}, std::size_t{3} << 20U}) {
        const SlotMemory memory(bytes);
        const std::span all(memory.data(), bytes);
        EXPECT_TRUE(std::ranges::all_of(all, [](std::byte b) { return b == std::byte{0}; }));
        std::ranges::fill(all, std::byte{1});
        EXPECT_EQ(std::ranges::count(all, std::byte{1}), static_cast<std::ptrdiff_t>(bytes));
    }
}

TEST(SlotMemory, IsNotGoneThroughBeforeItIsUsed) {
    const std::size_t before = resident();
    const SlotMemory memory(std::size_t{512} << 20U);
    memory.data()[0] = std::byte{1};
    EXPECT_LT(resident(), before + (std::size_t{64} << 10U));
}

}  // namespace
}  // namespace sumwire::aggregator
