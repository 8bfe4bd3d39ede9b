// What the library throws. Every message says what happened, where, and what to do about it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace sumwire {

// Base of all errors of a communicator.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The communicator cannot be set up, or a call's arguments are wrong. Nothing was changed.
class SetupError : public Error {
  public:
    using Error::Error;
};

// A rank died or left while others needed it. The communicator is over on all ranks; gradients whose
// sum was not complete are partly updated by whole chunks.
class PeerLost : public Error {
  public:
    PeerLost(std::uint32_t rank, const std::string& what) : Error(what), rank_(rank) {}
    std::uint32_t rank() const { return rank_; }

  private:
    std::uint32_t rank_;
};

// The aggregator fell silent. The communicator is over on all ranks.
class AggregatorLost : public Error {
  public:
    using Error::Error;
};

// A wait ran out of time. Names the rank that the aggregator waits for, where it is known.
class DeadlineExceeded : public Error {
  public:
    using Error::Error;
};

// Packets contradict each other: the network damages payloads without detecting it, or a peer runs
// other code. The communicator is over.
class ProtocolError : public Error {
  public:
    using Error::Error;
};

}  // namespace sumwire
