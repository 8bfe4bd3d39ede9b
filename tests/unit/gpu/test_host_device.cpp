#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/device.h"

namespace sumwire::gpu {
namespace {

TEST(HostDevice, BuffersAreAlignedZeroedAndLargeEnough) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096},
                                    std::size_t{5000}, std::size_t{3} << 20}) {
        const DeviceBuffer buffer = host_device().allocate(bytes);
        ASSERT_GE(buffer.bytes().size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.bytes().data()) % 4096, 0u);
        EXPECT_TRUE(std::ranges::all_of(buffer.bytes(), [](auto b) { return b == std::byte{0}; }));
        std::ranges::fill(buffer.bytes(), std::byte{0xff});
    }
}

TEST(HostDevice, MovingHandsTheMemoryOver) {
    DeviceBuffer first = host_device().allocate(100);
    std::byte* const data = first.bytes().data();
    DeviceBuffer second = std::move(first);
    EXPECT_EQ(second.bytes().data(), data);
    DeviceBuffer third = host_device().allocate(200);
    third = std::move(second);
    EXPECT_EQ(third.bytes().data(), data);
    third.bytes()[0] = std::byte{1};
    DeviceBuffer& same = third;
    third = std::move(same);
    EXPECT_EQ(third.bytes().data(), data);
    third = {};
    EXPECT_TRUE(third.bytes().empty());
    EXPECT_FALSE(third.in_huge_pages());
}

TEST(HostDevice, ImpossibleSizesThrow) {
    EXPECT_THROW(host_device().allocate(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
    EXPECT_THROW(host_device().allocate(std::size_t{1} << 60), std::bad_alloc);
}

TEST(HostDevice, ThreadsAllocateAtTheSameTime) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 100; ++i) {
                const DeviceBuffer buffer = host_device().allocate(10'000);
                buffer.bytes().back() = std::byte{1};
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

TEST(HostDevice, IsOneAndHasAName) {
    EXPECT_EQ(&host_device(), &host_device());
    EXPECT_EQ(host_device().name(), "host");
}

}  // namespace
}  // namespace sumwire::gpu
