#include <boost/json/array.hpp>

#include "admin/routes.h"
#include "admin/views.h"
#include "core/key.h"
#include "policies/set/lineage.h"

namespace weir::admin {

namespace json = boost::json;

net::HttpReply get_lineage(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::array rows;
  for (const policies::Lineage& line : policies::lineage_of(*call.set)) {
    json::object row;
    row["kind"] = line.kind == policies::Lineage::Kind::counter   ? "counter"
                  : line.kind == policies::Lineage::Kind::pattern ? "pattern"
                                                                  : "list";
    row["owner"] = line.owner;
    row["text"] = line.text;
    row["identity"] = line.identity;
    row["shared"] = line.shared;
    row["what"] = line.what;
    row["form"] = line.form;
    row["quantum_ms"] = line.quantum_ms;
    row["kept_ms"] = line.kept_ms;
    row["length_ms"] = line.length_ms;
    rows.push_back(std::move(row));
  }
  json::array closed;
  for (const Hash128& identity : call.stores.counters.closed())
    closed.emplace_back(hex_of(identity));
  return json_reply({{"lineage", std::move(rows)}, {"closed", std::move(closed)}});
}

}  // namespace weir::admin
