// The counters of one port: written by the thread that uses it, read by any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nic/port.h"
#include "nic/wire.h"

namespace sumwire::nic {

class LivePortCounters {
  public:
    // `bytes` are those of the datagrams; the network's headers are added here.
    void transmitted(std::size_t packets, std::size_t bytes) {
        add(tx_packets_, packets);
        add(tx_bytes_, bytes + packets * network_header_bytes);
    }
    void received(std::size_t packets, std::size_t bytes) {
        add(rx_packets_, packets);
        add(rx_bytes_, bytes + packets * network_header_bytes);
    }
    void would_block(std::size_t packets) { add(tx_would_block_, packets); }
    void malformed(std::size_t packets) { add(rx_malformed_, packets); }

    PortCounters read() const {
        PortCounters counters;
        counters.tx_packets = tx_packets_.load(std::memory_order_relaxed);
        counters.tx_bytes = tx_bytes_.load(std::memory_order_relaxed);
        counters.rx_packets = rx_packets_.load(std::memory_order_relaxed);
        counters.rx_bytes = rx_bytes_.load(std::memory_order_relaxed);
        counters.tx_would_block = tx_would_block_.load(std::memory_order_relaxed);
        counters.rx_malformed = rx_malformed_.load(std::memory_order_relaxed);
        return counters;
    }

  private:
    using Counter = std::atomic<std::uint64_t>;

    // There is one writer, so no locked instruction is needed.
    static void add(Counter& counter, std::uint64_t amount) {
        counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }

    Counter tx_packets_ = 0;
    Counter tx_bytes_ = 0;
    Counter rx_packets_ = 0;
    Counter rx_bytes_ = 0;
    Counter tx_would_block_ = 0;
    Counter rx_malformed_ = 0;
};

}  // namespace sumwire::nic
