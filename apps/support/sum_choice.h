// Codec and arithmetic of a sum, and other choices of a command line, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sumwire/communicator.h"

namespace sumwire::apps {

struct SumChoice {
    Codec codec = Codec::automatic;
    Arithmetic arithmetic = Arithmetic::exact;

    bool operator==(const SumChoice&) const = default;
};

std::string_view name_of(Codec codec);
std::string_view name_of(Arithmetic arithmetic);
std::string_view name_of(ReduceOp op);
std::string_view name_of(DataType type);

// Throw std::invalid_argument naming those that there are.
ReduceOp parse_reduce_op(std::string_view text);
DataType parse_data_type(std::string_view text);

// Every combination of the named codecs ("all" or some of auto, dense, packed, sketch) and
// arithmetics ("default": fixed32 for sketch and exact for the others; "all" or some of exact, f32,
// fixed32). Throws std::invalid_argument for an unknown name, and for sketch with f32 if both were
// named.
std::vector<SumChoice> choose_sums(const std::vector<std::string>& codecs,
                                   const std::vector<std::string>& arithmetics);

}  // namespace sumwire::apps
