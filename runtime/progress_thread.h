// Whether this thread drives a communicator, and so must not wait for what it drives itself.
#pragma once

namespace sumwire::runtime {

void mark_progress_thread();
bool on_progress_thread();

}  // namespace sumwire::runtime
