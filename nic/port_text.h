// One port's text, "KIND:TARGET;name=value;...", taken apart (grammar: port_spec.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/dpdk/neighbor.h"
#include "nic/endpoint.h"

namespace sumwire::nic {

// All functions throw SetupError that quotes the text and shows a right example.
class PortText {
  public:
    // `text` must outlive this.
    explicit PortText(std::string_view text);

    std::string_view kind() const { return kind_; }
    // What follows "KIND:"; empty if nothing does.
    std::string_view target() const { return target_; }
    // For kinds whose target is an option itself.
    void target_is_option();
    void set_example(std::string_view example) { example_ = example; }

    // Each takes its option out; empty if it is not there.
    std::optional<std::string_view> take(std::string_view name);
    std::vector<std::string_view> take_all(std::string_view name);
    std::optional<std::uint64_t> take_number(std::string_view name, std::uint64_t least,
                                             std::uint64_t most);
    std::optional<std::uint32_t> take_address(std::string_view name);  // host byte order
    std::optional<Endpoint> take_bind(std::string_view name);
    std::optional<bool> take_switch(std::string_view name);
    std::vector<Neighbor> take_neighbors(std::string_view name);

    // Throws if an option was not taken: it is unknown, or given twice.
    void finish() const;
    [[noreturn]] void reject(const std::string& why) const;

  private:
    struct Option {
        std::string_view name;
        std::string_view value;
    };

    void add_option(std::string_view text);
    std::uint32_t parse_address(std::string_view name, std::string_view value) const;
    std::uint64_t parse_number(std::string_view name, std::string_view value, std::uint64_t least,
                               std::uint64_t most) const;

    std::string_view text_;
    std::string_view kind_;
    std::string_view target_;
    std::string_view example_ = "udp;mtu=1500";
    std::vector<Option> options_;
    std::vector<std::string_view> known_;
};

}  // namespace sumwire::nic
