#include "apps/support/event_channel.h"

#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace sumwire::apps {
namespace {

// Above what a socket buffer takes by default, so above any message.
constexpr std::size_t largest_event = 1U << 20U;

void read_events(int receiver, const std::function<void(const nlohmann::json&)>& on_event) {
    std::vector<char> message(largest_event);
    for (;;) {
        const auto length = recv(receiver, message.data(), message.size(), 0);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) return;
        on_event(nlohmann::json::parse(message.data(), message.data() + length));
    }
}

}  // namespace

EventChannel::EventChannel(std::function<void(const nlohmann::json&)> on_event) {
    // Keeps the boundaries of messages, and ends when the last sender has closed.
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    receiver_ = Descriptor(ends[0]);
    sender_ = Descriptor(ends[1]);

    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    reader_ = std::thread(read_events, receiver_.get(), std::move(on_event));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

EventChannel::~EventChannel() {
    sender_.reset();
    reader_.join();
}

void EventChannel::send(int sender, const nlohmann::json& event) {
    const auto message = event.dump();
    if (::send(sender, message.data(), message.size(), MSG_NOSIGNAL) < 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot report to the program that started this rank");
}

}  // namespace sumwire::apps
