#include "tests/unit/gpu/support/inputs.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace sumwire::gpu::testing {

namespace {

using Random = std::mt19937_64;

float from_bits(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}

float special_value(Random& random) {
    using Limits = std::numeric_limits<float>;
    static constexpr std::array<float, 12> values = {Limits::quiet_NaN(),
                                                     Limits::infinity(),
                                                     -Limits::infinity(),
                                                     0.0f,
                                                     -0.0f,
                                                     1.0f,
                                                     -1.0f,
                                                     Limits::max(),
                                                     -Limits::max(),
                                                     0x1p-149f,
                                                     -0x1p-149f,
                                                     0.1f};
    return values[random() % values.size()];
}

float make_value(Values values, Random& random) {
    const auto bits = static_cast<std::uint32_t>(random());
    switch (values) {
        case Values::gradients: {
            std::normal_distribution<float> normal;
            return 1e-3f * normal(random) * std::exp(3 * normal(random));
        }
        case Values::one_binade:
            return from_bits((bits & 0x807f'ffff) | 127u << 23);
        case Values::any_finite:
            return from_bits((bits & 0x7f80'0000) == 0x7f80'0000 ? bits & ~0x4000'0000u : bits);
        case Values::any_bits:
            return random() % 8 == 0 ? from_bits(bits | 0x7f80'0000) : from_bits(bits);
        case Values::subnormals:
            return from_bits(bits & 0x80ff'ffff);
        case Values::huge:
            return from_bits((bits & 0x80ff'ffff) | 0x7e00'0000);
        case Values::cancelling:
            switch (random() % 5) {
                case 0:
                    return 1.0f;
                case 1:
                    return -1.0f;
                case 2:
                    return -0.0f;
                case 3:
                    return from_bits((bits & 0x8000'0000) | 0x3f80'0001);
                default:
                    return from_bits((bits & 0x8000'0000) | 0x3300'0000);
            }
        case Values::special:
            return special_value(random);
    }
    return 0;
}

// Called element by element.
class Mask {
  public:
    Mask(Pattern pattern, std::uint32_t count, Random& random)
        : pattern_(pattern),
          random_(random),
          start_(static_cast<std::uint32_t>(random() % count)) {}

    bool operator()(std::uint32_t i) {
        switch (pattern_) {
            case Pattern::empty:
                return false;
            case Pattern::full:
                return true;
            case Pattern::uniform:
                return random_() % 10 == 0;
            case Pattern::scattered:
                return random_() % 100 == 0;
            case Pattern::runs:
                if (i == next_) {
                    in_run_ = !in_run_;
                    next_ += 1 + static_cast<std::uint32_t>(random_() % (in_run_ ? 200 : 2000));
                }
                return in_run_;
            case Pattern::column:
                return i % 64 == start_ % 64;
            case Pattern::one_row:
                return i >= start_ && i < start_ + 64;
        }
        return false;
    }

  private:
    Pattern pattern_;
    Random& random_;
    std::uint32_t start_;
    std::uint32_t next_ = 0;
    bool in_run_ = true;
};

}  // namespace

Gradients make_gradients(Values values, Pattern pattern, std::uint32_t world_size,
                         std::uint32_t count, std::uint64_t seed) {
    Random random(seed);
    Gradients gradients;
    for (std::uint32_t r = 0; r < world_size; ++r) {
        Mask mask(pattern, count, random);
        std::vector<float>& gradient = gradients.emplace_back(count, 0.0f);
        for (std::uint32_t i = 0; i < count; ++i) {
            if (mask(i)) gradient[i] = make_value(values, random);
        }
    }
    return gradients;
}

}  // namespace sumwire::gpu::testing
