#pragma once

#include "config/import/nginx_file.h"

/// set_real_ip_from and its settings, as weir's `proxy.client_ip`.
namespace weir::config {

/// The section, or nothing. Missing parts go to the file's notes.
std::string nginx_client(NginxFile& file);

}  // namespace weir::config
