// Gradients as elements of another type, and what their sums must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "apps/support/references.h"
#include "gpu/data_type.h"
#include "sumwire/communicator.h"

namespace sumwire::apps {

struct TypedGradients {
    gpu::DataType type{};
    std::vector<std::vector<std::byte>> ranks;  // of one length

    std::size_t bytes() const { return ranks.front().size(); }
    std::size_t elements() const { return bytes() / gpu::size_of(type); }
};

// bfloat16, float16: rounded. Integers: scaled so that the largest magnitude of all is 2^20, and no
// other than 0 becomes 0.
TypedGradients convert(RankValues gradients, DataType type);

// Whether the arithmetic makes a difference to sums of the type.
bool knows_arithmetic(DataType type);
// Whether the codec does.
bool knows_codec(DataType type);

// Elements that are non-zero on some rank.
std::size_t union_elements(const TypedGradients& gradients);

// Computed by means of their own, when first asked for; the gradients must outlive it.
class TypedReference {
  public:
    explicit TypedReference(const TypedGradients& gradients);

    bool is_right(Arithmetic arithmetic, std::span<const std::byte> sums);

  private:
    const TypedGradients& gradients_;
    std::vector<std::vector<float>> wide_;  // of the types that are summed as floats
    References references_;
    std::vector<std::uint16_t> exact_halves_;
    std::vector<std::byte> plain_;  // of those that are not
};

}  // namespace sumwire::apps
