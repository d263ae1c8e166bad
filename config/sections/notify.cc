#include "config/sections/sections.h"
#include "config/text/merge.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

constexpr Row<NotifyDef> kNotify[] = {
    {{"webhook", shape::kText, "`http://` or `https://` URL", "",
      "Where a JSON message is posted."},
     [](Reader& r, const Member& m, NotifyDef& out) {
       out.webhook = r.text(m);
       if (!out.webhook) return;
       const std::string& url = out.webhook->value;
       const std::size_t host = url.starts_with("http://")    ? 7
                                : url.starts_with("https://") ? 8
                                                              : 0;
       if (host == 0 || url.size() == host || url[host] == '/' ||
           url.find_first_of(" \t\n") != std::string::npos) {
         // A caller who knows the path of a webhook may post there: the message does not repeat it.
         r.error(*m.value, "this is not a webhook URL", "write https://HOST/PATH");
       }
     }},
    {{"log", shape::kBoolean, "`true` or `false`", "`false`", "Write a log line."},
     [](Reader& r, const Member& m, NotifyDef& out) { set(r.boolean(m), out.log); }},
    number<&NotifyDef::per_minute, 1, 10'000>("per_minute", "10",
                                              "Messages a minute at most, then a summary."),
};

}  // namespace

void read_notify(Reader& reader, const Member& section, std::vector<NotifyDef>& out) {
  if (section.value->is_null()) return;  // all of it commented out
  if (!reader.is_map(*section.value, "\"notify\"")) return;
  for (const Member& m : section.value->items) {
    NotifyDef notify;
    set(reader.name(Member{m.key, m.key}, "a notification", true), notify.name);
    const std::size_t errors = reader.problems().errors();
    reader.walk(*m.value, "a notification", kNotify, notify);
    if (reader.problems().errors() == errors && !notify.webhook && !notify.log) {
      reader.error(*m.key, "a notification needs \"webhook\" or log: true");
    }
    notify.spelling = spelling(*m.value);
    if (!notify.name.value.empty()) out.push_back(std::move(notify));
  }
}

void add_notify_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kNotify>("notification", "a notification", "Notifications",
                                "`notify:` maps names to these keys; a rung says `notify: NAME`."));
}

}  // namespace weir::config
