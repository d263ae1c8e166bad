// A library to be preloaded (LD_PRELOAD): a name server that never answers about names that end
// with `.slow.test`. All other names are looked up as usual.
#include <dlfcn.h>
#include <netdb.h>
#include <unistd.h>

#include <string_view>

extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  constexpr std::string_view kSilent = ".slow.test";
  while (host != nullptr && std::string_view(host).ends_with(kSilent)) ::pause();
  using Look = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto look = reinterpret_cast<Look>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return look(host, service, hints, found);
}
