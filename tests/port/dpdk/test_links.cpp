// The conformance suite over every kind of DPDK link that one process can make.
#include "tests/port/dpdk/links.h"

namespace sumwire::nic {
namespace {

void jumbo(DpdkPortOptions& options) {
    options.mtu = 9000;
}
void with_checksums(DpdkPortOptions& options) {
    options.checksum = UdpChecksum::on;
}

INSTANTIATE_TEST_SUITE_P(Ring, PortConformance,
                         ::testing::Values(PairKind{"plain", [] { return ring_pair(); }},
                                           PairKind{"jumbo", [] { return ring_pair(jumbo); }},
                                           PairKind{"checksums",
                                                    [] { return ring_pair(with_checksums); }}),
                         name_of_kind);

INSTANTIATE_TEST_SUITE_P(Memif, PortConformance,
                         ::testing::Values(PairKind{"plain", [] { return memif_pair(); }},
                                           PairKind{"jumbo", [] { return memif_pair(jumbo); }}),
                         name_of_kind);

INSTANTIATE_TEST_SUITE_P(
    PacketSocket, PortConformance,
    ::testing::Values(PairKind{"plain", [] { return packet_socket_pair(1500); }},
                      PairKind{"jumbo", [] { return packet_socket_pair(9000); }}),
    name_of_kind);

INSTANTIATE_TEST_SUITE_P(Xdp, PortConformance,
                         ::testing::Values(PairKind{"plain", [] { return xdp_pair(); }}),
                         name_of_kind);

INSTANTIATE_TEST_SUITE_P(
    KernelPeer, PortConformance,
    ::testing::Values(PairKind{"packet_socket", [] { return kernel_peer_pair("net_af_packet0"); }},
                      PairKind{"xdp", [] { return kernel_peer_pair("net_af_xdp0"); }}),
    name_of_kind);

}  // namespace
}  // namespace sumwire::nic
