#include "apps/support/polling_option.h"

#include <stdexcept>

#include "nic/polling.h"

namespace sumwire::apps {

std::string check_polling(const std::string& text) {
    try {
        nic::parse_polling(text);
        return {};
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

Polling worker_polling(std::string_view text) {
    switch (nic::parse_polling(text)) {
        case nic::Polling::automatic:
            return Polling::automatic;
        case nic::Polling::spin:
            return Polling::spin;
        case nic::Polling::yield:
            return Polling::yield;
        case nic::Polling::sleep:
            return Polling::sleep;
    }
    return Polling::automatic;
}

}  // namespace sumwire::apps
