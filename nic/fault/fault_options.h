// Which faults a FaultPort injects.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace sumwire::nic {

// Probabilities are per datagram, from 0 to 1, and independent of each other.
struct FaultOptions {
    double loss = 0;
    double duplicate = 0;
    double reorder = 0;  // held back while up to max_displacement later datagrams pass
    double corrupt = 0;  // one to three bits anywhere in the datagram flip
    std::uint64_t seed = 1;
    bool on_transmit = true;
    bool on_receive = true;
    // What is held back goes on after this time at the latest, if no later datagrams come.
    std::chrono::microseconds patience{2000};

    static constexpr unsigned max_displacement = 8;
};

// Reads "loss=0.01,duplicate=0.02,reorder=0.02,corrupt=0.001,seed=7,on=transmit,patience=2000"
// (any of them, in any order; on: transmit, receive or both; patience in microseconds). Throws
// std::invalid_argument that quotes what is wrong and shows a right example.
FaultOptions parse_faults(std::string_view text);

std::string to_string(const FaultOptions& options);

}  // namespace sumwire::nic
