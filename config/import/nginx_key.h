#pragma once

#include "config/import/nginx_file.h"

/// Variables of nginx as a key of a policy.
namespace weir::config {

struct NginxKey {
  bool known = true;  ///< else `what` and `why` name the unknown part
  std::vector<std::string> fields;
  std::string missing;    ///< the text for the policy; may be empty
  std::string when;       ///< nginx does not count an empty key
  std::string what, why;  ///< a note; may be empty
};

bool is_by_server(const NginxZone& zone);
/// The key of a zone in this server.
NginxKey nginx_key(const NginxZone& zone, const std::string& server, const NginxFile& file);

}  // namespace weir::config
