// A port that does as a test says, and notes what happens to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "nic/port.h"

namespace sumwire::nic {

// What a ScriptedPort shares with the test, which outlives the port.
struct PortScript {
    PortInfo info{{1, 2, 0}, 1000, true, 0, "scripted"};
    PortCounters counters;
    std::size_t room = SIZE_MAX;           // packets that transmit still takes
    std::deque<std::uint16_t> to_receive;  // UDP ports that packets come from
    bool borrows = false;                  // register_memory gives a region
    std::uint32_t in_flight = 0;

    std::vector<std::size_t> bursts;  // lengths seen by transmit
    std::vector<TxPacket> transmitted;
    std::vector<std::uint16_t> released;  // UDP ports
    std::vector<std::chrono::microseconds> waits;
    std::vector<const MemoryRegion*> regions;
};

class ScriptedPort final : public PacketPort {
  public:
    explicit ScriptedPort(PortScript& script) : script_(script) {}

    const PortInfo& info() const override { return script_.info; }
    std::size_t transmit(std::span<const TxPacket> burst) override {
        script_.bursts.push_back(burst.size());
        const std::size_t taken = std::min(burst.size(), script_.room);
        script_.room -= taken;
        for (const TxPacket& packet : burst.first(taken))
            script_.transmitted.push_back(packet);
        return taken;
    }
    std::size_t receive(std::span<RxPacket> burst) override {
        std::size_t count = 0;
        while (count < burst.size() && !script_.to_receive.empty()) {
            burst[count++] = {{9, script_.to_receive.front(), 0}, {}, nullptr};
            script_.to_receive.pop_front();
        }
        return count;
    }
    void release(std::span<const RxPacket> packets) override {
        for (const RxPacket& packet : packets)
            script_.released.push_back(packet.from.port);
    }
    void wait(std::chrono::microseconds timeout) override { script_.waits.push_back(timeout); }
    std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte>) override {
        if (!script_.borrows) return nullptr;
        auto region = std::make_unique<Region>(script_);
        script_.regions.push_back(region.get());
        return region;
    }
    PortCounters counters() const override { return script_.counters; }

  private:
    class Region final : public MemoryRegion {
      public:
        explicit Region(const PortScript& script) : script_(script) {}
        std::uint32_t in_flight() const override { return script_.in_flight; }

      private:
        const PortScript& script_;
    };

    PortScript& script_;
};

}  // namespace sumwire::nic
