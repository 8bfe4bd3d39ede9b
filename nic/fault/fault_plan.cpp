#include "nic/fault/fault_plan.h"

#include <array>

namespace sumwire::nic {
namespace {

enum Purpose : unsigned {
    lose,
    duplicate,
    corrupt_bits,
    reorder,
    displace,
    second_copy,
    bit_count,
    first_bit,  // and two more
    purposes = first_bit + 3
};

// The finalizer of SplitMix64: every bit of the input changes half of the output.
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

}  // namespace

FaultPlan::FaultPlan(const FaultOptions& options, Direction direction)
    : options_(options),
      key_(mix(mix(options.seed + golden) + static_cast<std::uint64_t>(direction))),
      active_(direction == Direction::transmit ? options.on_transmit : options.on_receive) {}

Fate FaultPlan::fate(std::uint64_t position) const {
    Fate fate;
    if (!active_) return fate;
    constexpr unsigned most = FaultOptions::max_displacement;
    fate.lost = happens(options_.loss, position, lose);
    fate.duplicated = happens(options_.duplicate, position, duplicate);
    fate.corrupted = happens(options_.corrupt, position, corrupt_bits);
    if (happens(options_.reorder, position, reorder)) {
        fate.displacement = 1 + static_cast<unsigned>(draw(position, displace) % most);
    }
    fate.duplicate_after = 1 + static_cast<unsigned>(draw(position, second_copy) % most);
    return fate;
}

void FaultPlan::corrupt(std::uint64_t position, std::span<std::byte> datagram) const {
    const std::size_t bits = datagram.size() * 8;
    if (bits < 3) return;
    // Distinct bits: two equal ones would undo each other.
    std::array<std::size_t, 3> flipped{};
    const std::size_t count = 1 + draw(position, bit_count) % 3;
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t bit = draw(position, first_bit + static_cast<unsigned>(i)) % bits;
        for (std::size_t k = 0; k < i; ++k) {
            if (flipped[k] == bit) {
                bit = (bit + 1) % bits;
                k = static_cast<std::size_t>(-1);
            }
        }
        flipped[i] = bit;
        datagram[bit / 8] ^= std::byte{1} << (bit % 8);
    }
}

std::uint64_t FaultPlan::draw(std::uint64_t position, unsigned purpose) const {
    return mix(key_ + golden * (position * purposes + purpose));
}

bool FaultPlan::happens(double probability, std::uint64_t position, unsigned purpose) const {
    // 53 bits: what a double holds exactly, so that 0 never and 1 always happens.
    return static_cast<double>(draw(position, purpose) >> 11) * 0x1p-53 < probability;
}

}  // namespace sumwire::nic
