// Scripted packets into an aggregator, in virtual time, and its answers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/wire.h"
#include "switch_emu/aggregator.h"

namespace sumwire::aggregator::test {

using Bytes = std::vector<std::byte>;

struct Answer {
    nic::Endpoint to;
    nic::Header header;
    Bytes payload;
    nic::Checksum checksum{};

    std::size_t datagram_bytes() const { return nic::header_bytes + payload.size(); }
};

// Payloads and back; words little endian, spelled out byte by byte.
Bytes words(const std::vector<std::uint32_t>& values);
Bytes floats(const std::vector<float>& values);
std::vector<std::uint32_t> to_words(std::span<const std::byte> payload);

Bytes datagram(const nic::Header& header, const Bytes& payload, bool sealed = false);

nic::Endpoint endpoint_of(unsigned rank, unsigned host = 0);

struct JoinOptions {
    std::string job = "job";
    std::uint64_t nonce = 0;  // 0: 1000 + rank
    std::uint16_t payload_bytes = 1024;
    std::uint16_t slots = 8;
    std::uint32_t peer_timeout_ms = 5000;
    bool checksums = false;
    bool float_sums = false;
    bool padded = true;
};

class Script {
  public:
    explicit Script(const Limits& limits = {}, std::uint64_t seed = 1);

    std::vector<Answer> send(const nic::Endpoint& from, const Bytes& bytes);
    std::vector<Answer> join(const nic::Endpoint& from, std::uint16_t rank,
                             std::uint16_t world_size, const JoinOptions& options = {});
    // Moves the clock and handles the deadlines on the way, each at its time.
    std::vector<Answer> advance(Time by);

    Time now() const { return now_; }
    Aggregator& aggregator() { return aggregator_; }
    Statistics statistics() const { return aggregator_.statistics(); }
    const std::vector<JobEvent>& events() const { return events_; }

  private:
    std::vector<Answer> take();

    std::mt19937_64 random_;
    std::vector<JobEvent> events_;
    Aggregator aggregator_;
    Outbox outbox_;
    Time now_ = std::chrono::seconds(100);
};

// A job whose ranks have all joined from endpoint_of(rank, host).
class Job {
  public:
    Job(Script& script, std::uint16_t world_size, const JoinOptions& options = {},
        unsigned host = 0);

    std::uint64_t session() const { return session_; }
    std::uint16_t world_size() const { return world_size_; }
    const nic::Welcome& welcome() const { return welcome_; }
    nic::Endpoint endpoint(unsigned rank) const { return endpoint_of(rank, host_); }

    nic::Header header(std::uint16_t rank, std::uint16_t slot, bool version, std::uint32_t sequence,
                       nic::Op op = nic::Op::add_i32) const;
    // A contribution from the rank's own address.
    std::vector<Answer> contribute(const nic::Header& header, const Bytes& payload,
                                   bool sealed = false);
    std::vector<Answer> heartbeat(std::uint16_t rank);
    // Expects the farewell to be answered by itself, and returns what else is sent.
    std::vector<Answer> leave(std::uint16_t rank);

  private:
    Script* script_;
    std::uint16_t world_size_;
    unsigned host_;
    std::uint64_t session_ = 0;
    nic::Welcome welcome_;
};

}  // namespace sumwire::aggregator::test
