#include "switch_emu/obituaries.h"

#include <algorithm>

#include "switch_emu/limits.h"

namespace sumwire::aggregator {

const Obituary* Obituaries::find(std::uint64_t session, Time now) const {
    if (session == 0) return nullptr;
    const auto found = std::ranges::find(ring_, session, &Obituary::session);
    if (found == ring_.end() || now - found->ended > obituary_lifetime) return nullptr;
    return &*found;
}

}  // namespace sumwire::aggregator
