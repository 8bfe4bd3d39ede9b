#include "gpu/codec/element_codec.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "gpu/codec/float_environment.h"

namespace sumwire::gpu {

namespace {

// An element's bits, how it sums, and where it stands in the order of its type.

struct Float64 {
    using Bits = std::uint64_t;
    static constexpr Combine sum = Combine::add_f64;
    static constexpr Bits infinity = std::uint64_t{0x7ff} << 52;
    static constexpr Bits nan = std::uint64_t{0xfff} << 51;
    static Bits divide(Bits bits, std::uint32_t divisor) {
        return std::bit_cast<Bits>(std::bit_cast<double>(bits) / divisor);
    }
};

template <std::signed_integral Integer, Combine combine>
struct Signed {
    using Bits = std::make_unsigned_t<Integer>;
    static constexpr Combine sum = combine;
    static Bits divide(Bits bits, std::uint32_t divisor) {
        return static_cast<Bits>(static_cast<Integer>(bits) / static_cast<Integer>(divisor));
    }
};
using Integer32 = Signed<std::int32_t, Combine::add_i32>;
using Integer64 = Signed<std::int64_t, Combine::add_i64>;

// Types that this codec orders but does not sum.
template <std::unsigned_integral Word, Word infinity_bits, Word nan_bits>
struct Ordered {
    using Bits = Word;
    static constexpr Bits infinity = infinity_bits;
    static constexpr Bits nan = nan_bits;
};
using Float32 = Ordered<std::uint32_t, 0x7f80'0000, 0x7fc0'0000>;
using Bfloat16 = Ordered<std::uint16_t, 0x7f80, 0x7fc0>;
using Float16 = Ordered<std::uint16_t, 0x7c00, 0x7e00>;

template <typename Type>
concept Floating = requires { Type::infinity; };

template <typename Type>
concept Summed = requires { Type::sum; };

template <typename Bits>
constexpr Bits highest_bit = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));

template <typename Bits>
constexpr Bits all_bits = std::numeric_limits<Bits>::max();

template <typename Type, typename Bits = typename Type::Bits>
Bits to_order(Bits bits, bool minimum) {
    constexpr Bits sign = highest_bit<Bits>;
    Bits order = bits ^ sign;
    if constexpr (Floating<Type>) {
        const Bits magnitude = bits & static_cast<Bits>(~sign);
        if (magnitude > Type::infinity) return all_bits<Bits>;
        order = bits & sign ? static_cast<Bits>(~bits) : order;
    }
    return minimum ? static_cast<Bits>(~order) : order;
}

template <typename Type, typename Bits = typename Type::Bits>
Bits from_order(Bits order, bool minimum) {
    constexpr Bits sign = highest_bit<Bits>;
    if constexpr (Floating<Type>) {
        if (order == all_bits<Bits>) return Type::nan;
    }
    if (minimum) order = static_cast<Bits>(~order);
    if constexpr (Floating<Type>) {
        return order & sign ? static_cast<Bits>(order ^ sign) : static_cast<Bits>(~order);
    }
    return order ^ sign;
}

template <typename Bits>
constexpr Combine largest_of() {
    switch (sizeof(Bits)) {
        case sizeof(std::uint16_t):
            return Combine::max_u16;
        case sizeof(std::uint32_t):
            return Combine::max_u32;
        default:
            return Combine::max_u64;
    }
}

template <typename Type>
class ElementCodec final : public ChunkCodec {
    using Bits = typename Type::Bits;

  public:
    ElementCodec(Device& device, std::uint32_t world_size)
        : world_size_(world_size), memory_(device.allocate(chunk_elements * sizeof(Bits))) {}

    Progress begin(const ChunkTask& task) override {
        task_ = task;
        const std::size_t bytes = task.count * sizeof(Bits);
        // A 16-bit element more, to whole words.
        const std::size_t padded = (bytes + 3) / 4 * 4;
        elements_ = {reinterpret_cast<Bits*>(memory_.bytes().data()), task.count};
        std::memset(memory_.bytes().data() + bytes, 0, padded - bytes);
        std::memcpy(elements_.data(), task.values, bytes);
        message_ = {Combine::bit_or, memory_.bytes().first(padded)};
        if (is_extremum(task.reduction)) {
            const bool minimum = task.reduction == Reduction::minimum;
            for (Bits& element : elements_)
                element = to_order<Type>(element, minimum);
            message_.combine = largest_of<Bits>();
        } else if constexpr (Summed<Type>) {
            message_.combine = Type::sum;
        }
        return Progress::exchange;
    }

    Progress advance() override {
        const FloatEnvironment environment;
        if (is_extremum(task_.reduction)) {
            const bool minimum = task_.reduction == Reduction::minimum;
            for (Bits& element : elements_)
                element = from_order<Type>(element, minimum);
        } else if constexpr (Summed<Type>) {
            if (task_.reduction == Reduction::average) {
                for (Bits& element : elements_)
                    element = Type::divide(element, world_size_);
            }
        }
        std::memcpy(task_.values, elements_.data(), elements_.size_bytes());
        return Progress::done;
    }

    std::span<const Message> messages() const override { return {&message_, 1}; }
    std::uint32_t union_size() const override { return task_.count; }
    bool stalled() const override { return false; }
    std::span<std::byte> payload_memory() override { return memory_.bytes(); }

  private:
    std::uint32_t world_size_;
    DeviceBuffer memory_;
    ChunkTask task_;
    std::span<Bits> elements_;
    Message message_;
};

template <typename Type>
std::unique_ptr<ChunkCodec> make(Device& device, const CodecConfig& config) {
    return std::make_unique<ElementCodec<Type>>(device, config.world_size);
}

}  // namespace

std::unique_ptr<ChunkCodec> make_element_codec(Device& device, const CodecConfig& config) {
    switch (config.type) {
        case DataType::f32:
            return make<Float32>(device, config);
        case DataType::bf16:
            return make<Bfloat16>(device, config);
        case DataType::f16:
            return make<Float16>(device, config);
        case DataType::f64:
            return make<Float64>(device, config);
        case DataType::i32:
            return make<Integer32>(device, config);
        case DataType::i64:
            return make<Integer64>(device, config);
    }
    return nullptr;
}

}  // namespace sumwire::gpu
