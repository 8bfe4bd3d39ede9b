// Codec and arithmetic of a sum, by name.
#pragma once

#include <string_view>
#include <vector>

#include "sumwire/communicator.h"

namespace sumwire::apps {

struct SumChoice {
    Codec codec{};
    Arithmetic arithmetic{};
};

std::string_view name_of(Codec codec);
std::string_view name_of(Arithmetic arithmetic);

// Throw std::invalid_argument naming those that there are.
Codec parse_codec(std::string_view text);
Arithmetic parse_arithmetic(std::string_view text);
Polling parse_polling(std::string_view text);

// What --codec all stands for.
std::vector<SumChoice> all_choices();

}  // namespace sumwire::apps
