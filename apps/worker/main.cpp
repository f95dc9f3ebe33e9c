// qualia-worker: hosts a lane for the qualia process that started it, over the socket whose number
// is its one argument.

#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "qualia/version.h"
#include "qualia/worker.h"

namespace {

int run(std::string_view argument) {
  if (argument == "--version") {
    const std::string_view build = qualia::build_id();
    std::printf("qualia-worker %.*s\n", static_cast<int>(build.size()), build.data());
    return 0;
  }
  int socket = -1;
  const char* const end = argument.data() + argument.size();
  const auto [rest, error] = std::from_chars(argument.data(), end, socket);
  if (error != std::errc() || rest != end || socket < 0) {
    std::fputs("qualia: error: qualia-worker takes the number of a socket.\n", stderr);
    return 2;
  }
  const auto served = qualia::run_worker(socket);
  if (served) return 0;
  std::fprintf(stderr, "qualia: error: %s\n", served.error().message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc == 2 ? argv[1] : "");
  } catch (const std::bad_alloc&) {
    std::fputs("qualia: error: Memory is exhausted.\n", stderr);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "qualia: error: internal fault: %s\n", exception.what());
  }
  return 1;
}
