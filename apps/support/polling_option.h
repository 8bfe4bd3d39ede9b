// --polling of a command line.
#pragma once

#include <string>
#include <string_view>

#include "sumwire/communicator.h"

namespace sumwire::apps {

// For CLI::Validator: empty if the text is a way of polling, else what is wrong and the remedy.
std::string check_polling(const std::string& text);

// For a worker's Options. Throws std::invalid_argument naming those that there are.
Polling worker_polling(std::string_view text);

}  // namespace sumwire::apps
