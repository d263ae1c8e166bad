#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_members.h"
#include "core/event.h"
#include "net/http/target.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/json.h"
#include "policies/lang/frame.h"
#include "policies/lang/record.h"
#include "policies/set/policy_set.h"

namespace weir::api {

/// Reads an event that an app sends, one JSON object, as an event of the configuration.
/// docs/events.md describes the members. There are three kinds:
///
///  - an event with `source:`: members are its columns;
///  - an event with `match:`: members are its own fields by name, and the built-in words (`ip`,
///    `method`, `header`...), from which everything else is read as of a request;
///  - without a name: a request, and by method and path every event that the proxy would have seen.
///
/// Keeps its memory; one per worker, not thread-safe.
class EventReader {
 public:
  /// Returns the error of the event and its place. Otherwise record() and answer() describe the
  /// event, until the next read and as long as `object` and `set` live. `now`: the event's time if
  /// it names none.
  std::optional<JsonWrong> read(std::string_view object, const policies::PolicySet& set,
                                TimePoint now);
  const policies::Record& record() const noexcept { return record_; }
  /// The reported answer of the app: status 0 is unknown.
  const Answer& answer() const noexcept { return answer_; }
  /// A report about a request that a door let pass: its id; the report is answer(). None: an event.
  std::optional<std::string_view> settles() const noexcept { return settles_; }

 private:
  using Member = JsonMember;
  using Wrong = std::optional<JsonWrong>;
  struct Word {
    std::string_view name;
    Wrong (EventReader::*read)(const Member&);
  };
  static const Word kWords[];

  void clear(TimePoint now);
  Wrong find_event(const policies::PolicySet& set);
  Wrong read_member(const policies::PolicySet& set, const Member& member);
  Wrong read_settlement(const Member& id);
  Wrong read_column(const policies::PolicySet& set, const Member& member);
  Wrong preset(const policies::PolicySet& set, policies::SlotId slot, const Member& member);
  Value nested(const Member& member);
  void preset_what_is_not_known(const policies::PolicySet& set);
  void finish_request();
  Wrong check_says_something() const;
  Wrong check_status(const policies::PolicySet& set);

  // event_words.cc: the meaning of the built-in words.
  Wrong read_time(const Member& member);
  Wrong read_record_time(std::optional<EpochUnit> unit, const Member& member);
  Wrong read_ip(const Member& member);
  Wrong read_method(const Member& member);
  Wrong read_path(const Member& member);
  Wrong read_url(const Member& member);
  Wrong read_host(const Member& member);
  Wrong read_scheme(const Member& member);
  Wrong read_query(const Member& member);
  Wrong read_header(const Member& member);
  Wrong read_cookie(const Member& member);
  Wrong read_body(const Member& member);
  Wrong read_status(const Member& member);
  Wrong read_response(const Member& member);
  Wrong read_headers(const Member& member, std::vector<HeaderField>& out);
  Wrong add_header(const Member& name, const Member& value, std::vector<HeaderField>& out);
  Wrong normalise(std::string_view path, const Member& member);
  /// A JSON value as a body (`json`: its type is known by that), or a text as it is.
  void take_body(const Member& member, bool& json, BodyState& state, std::string_view& body);

  std::string_view keep(std::string_view text);
  /// The text of a text, a number or a boolean; nullopt: it is something else.
  std::optional<std::string_view> text_of(const Member& member);

  JsonMembers members_, inner_, innermost_;
  std::string_view text_;
  policies::BodyReader whole_;  // the text, for lists and maps in it
  policies::Arena arena_;
  policies::Record record_;
  Request request_;
  Answer answer_;
  std::optional<std::string_view> settles_;
  std::vector<policies::Preset> presets_;
  std::vector<HeaderField> headers_, answer_headers_;
  std::deque<std::string> texts_;  // copied or made texts; a deque: views stay
  std::size_t texts_used_ = 0;
  std::deque<Address> addresses_;
  std::vector<char> path_room_;
  net::NormalTarget normal_;
  PathRules path_rules_;  // of the set that it is read for
  std::string scratch_;
  policies::Frame frame_;  // of the answer alone
  policies::Captured nothing_;
  bool has_ip_ = false, has_url_ = false, has_query_ = false;
  bool json_body_ = false, json_answer_body_ = false;
};

}  // namespace weir::api
