// What every packet port must do, as one parameterised suite.
//
// A port's own test file instantiates it:
//
//   INSTANTIATE_TEST_SUITE_P(MyPort, PortConformance, ::testing::Values(PairKind{"plain", make}),
//                            name_of_kind);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>

#include "nic/port.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {

// Two connected ports.
struct PortPair {
    std::shared_ptr<void> world;  // what must outlive the ports
    std::unique_ptr<PacketPort> a;
    std::unique_ptr<PacketPort> b;
    Endpoint a_seen_from_b;
    Endpoint b_seen_from_a;
    // Everything that is taken arrives, once and in order. Otherwise the suite resends.
    bool lossless = false;
};

// Thrown by a factory where this machine cannot run the port: reason and remedy.
class Unavailable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct PairKind {
    std::string name;  // letters, digits and underscores
    std::function<PortPair()> make;
};

inline std::ostream& operator<<(std::ostream& out, const PairKind& kind) {
    return out << kind.name;
}

inline std::string name_of_kind(const ::testing::TestParamInfo<PairKind>& test) {
    return test.param.name;
}

class PortConformance : public ::testing::TestWithParam<PairKind> {
  protected:
    void SetUp() override;

    PacketPort& a() { return *pair_.a; }
    PacketPort& b() { return *pair_.b; }
    std::size_t largest_payload() const;
    Traffic a_to_b();
    Traffic b_to_a();

    PortPair pair_;
};

}  // namespace sumwire::nic
