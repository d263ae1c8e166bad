#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/support/command.h"
#include "core/clock.h"

/// The client of `weir ctl` for the admin API of a running weir.
namespace weir::app {

struct AdminDoor {
  std::string address;      ///< HOST:PORT, :PORT or unix:/path
  std::string token_file;   ///< empty: none
  std::string accept;       ///< a media type other than JSON; empty: JSON
  std::string reason = {};  ///< of a change, for the audit log; empty: none is given
  bool is_named = false;    ///< its address is not from --admin: --replicas, --against
};

struct AdminAnswer {
  int code = 0;    ///< an ExitCode; kOk: the answer is 2xx
  int status = 0;  ///< 0: there was none
  boost::json::value body;
  std::string text;     ///< the body as it came, if it is no JSON
  std::string problem;  ///< what is wrong, fit to be shown; empty if code is kOk
};

/// The door that the environment names ($WEIR_ADMIN_LISTEN, $WEIR_ADMIN_TOKEN_FILE), or the default
/// one.
AdminDoor default_door();

/// Blocks for so long.
void wait_for(milliseconds time);

/// One request; blocks for `limit` at most, and longer only where the door takes changes no faster
/// (429): it waits and asks again.
AdminAnswer ask_admin(const AdminDoor& door, std::string_view method, const std::string& target,
                      const std::string& body = {}, milliseconds limit = milliseconds{10'000});

/// Says on stderr what is wrong, if something is, and gives the exit code.
int complain_of(const AdminAnswer& answer);

/// The same; if nothing has this name, it proposes names of `list` in the answer to GET
/// `target`.
int complain_of_name(const AdminDoor& door, AdminAnswer answer, const std::string& name,
                     const char* target, const char* list);

/// The names in the answer of GET /v1/policies, /v1/lists, /v1/views or /v1/tables: those of
/// `list`, of the metrics of policies (`POLICY.METRIC`) and of disabled ones; of a policy's own
/// lists (`POLICY:EFFECT`) also the policy. Pure.
std::vector<std::string> names_in(const boost::json::value& answer, const char* list);
/// `; did you mean "x"?`; where none is near, and there are few: `; there are a, b and c`. Empty:
/// there are many, or `name` is one of them. Pure.
std::string name_hint(const std::string& name, const std::vector<std::string>& names);

/// A word of a key as it was meant: blanks around an address come with copying it.
std::string key_word(const std::string& word);

/// A path with `part` in the place of its `{}`, and a parameter for each key; both percent-encoded.
std::string admin_target(std::string_view path, std::string_view part = {},
                         const std::vector<std::string>& keys = {});

/// While an object of this class exists, it collects the values given to show(), which are then not
/// printed, so that the answers of several replicas can be merged. One at a time; not thread-safe.
class Gathered {
 public:
  Gathered();
  ~Gathered();
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;

  boost::json::value body;
  std::string text;
};

/// JSON on one line for programs, `text` for people.
void show(const Globals& globals, const boost::json::value& body, const std::string& text);

}  // namespace weir::app
