// Order statistics of measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace sumwire::apps {

// The value below which a share `q` (0 to 1) of the values lies, nearest rank. `values` is not
// empty; it is reordered.
template <typename T>
T quantile(std::vector<T>& values, double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank > 0 ? rank - 1 : 0);
    std::nth_element(values.begin(), nth, values.end());
    return *nth;
}

template <typename T>
T median(std::vector<T> values) {
    return quantile(values, 0.5);
}

}  // namespace sumwire::apps
