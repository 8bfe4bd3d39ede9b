// A job whose ranks are still joining.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/time.h"
#include "switch_emu/answers.h"
#include "switch_emu/limits.h"
#include "switch_emu/rival_claim.h"
#include "switch_emu/session.h"

namespace sumwire::aggregator {

class Gathering {
  public:
    // The first join fixes name and world size.
    Gathering(std::string job, std::uint16_t world_size, Time now);

    const std::string& job() const { return job_; }
    std::uint16_t world_size() const { return static_cast<std::uint16_t>(candidates_.size()); }
    Time last_join() const { return last_join_; }

    // Ranks of another world size claim the job's name.
    RivalClaim& rival() { return rival_; }

    enum class Admission { admitted, claimed, taken };
    // claimed: somebody else holds the rank and may be dead; ask again. taken: he is alive.
    Admission admit(const JoinRef& ref, const nic::Join& join, Time now);

    const nic::Endpoint& holder(std::uint16_t rank) const { return candidates_[rank].ref.from; }

    struct Count {
        std::uint16_t joined = 0;
        std::uint16_t missing_rank = 0;  // lowest; the world size if none is missing
    };
    // A rank counts as joined if its joins go on and no rival claims it. Whether datagrams of full
    // length reach it is for the rank to find out.
    Count count(Time now) const;

    Terms terms(const Limits& limits) const;
    std::vector<JoinRef> joins() const;   // of the ranks that have joined
    std::vector<Member> members() const;  // of all

  private:
    struct Candidate {
        bool known = false;
        JoinRef ref;
        Time last_join{};
        RivalClaim rival;
        std::uint16_t payload_bytes = 0;
        std::uint16_t slots = 0;
        std::uint32_t peer_timeout_ms = 0;
        bool checksums = false;
        bool float_sums = false;
    };

    std::string job_;
    std::vector<Candidate> candidates_;
    Time last_join_;
    RivalClaim rival_;
};

}  // namespace sumwire::aggregator
