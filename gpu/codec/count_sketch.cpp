#include "gpu/codec/count_sketch.h"

#include <algorithm>

namespace sumwire::gpu {

void make_sketch(const SketchShape& shape, const Keys& keys, std::span<const std::uint32_t> words,
                 std::span<std::uint32_t> sketch) {
    std::ranges::fill(sketch, 0);
    for (std::uint32_t i = 0; i < words.size(); ++i) {
        if (words[i] == 0) continue;
        for (const std::uint32_t counter : counters_of(shape, keys[i]))
            sketch[counter] += words[i];
    }
}

}  // namespace sumwire::gpu
