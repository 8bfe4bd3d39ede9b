// What goes wrong when processes are started.
#pragma once

#include <stdexcept>

namespace sumwire::apps {

// Processes, or the network between them, cannot be set up. The message names the remedy.
class LaunchError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace sumwire::apps
