#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor/findings.h"
#include "app/support/machine.h"
#include "config/model.h"

/// Each check looks at one thing and reports its findings. The checks ask the machine and the
/// network, change nothing that is there, and each has a deadline.
namespace weir::app::doctor {

// machine_checks.cc
/// `patterns`: whether the policies have some, which take memory besides.
void check_memory(const config::Server& server, const Machine& machine, bool patterns,
                  Findings& out);
void check_threads(const config::Server& server, const Machine& machine, Findings& out);
/// `open_files`: the hard limit; 0: unknown.
void check_descriptors(const config::Server& server, const Machine& machine,
                       std::uint64_t open_files, Findings& out);
/// Finds files that a `subPath` mount shows, which never show a change of their ConfigMap: they are
/// mount points of their own, or in a directory that is mounted from one state of the ConfigMap.
/// `mountinfo`: the text of /proc/self/mountinfo. Pure.
std::vector<std::string> mounted_alone(std::string_view mountinfo,
                                       const std::vector<std::string>& files);
void check_mounts(const std::vector<std::string>& files, Findings& out);
void check_state(const config::Server& server, Findings& out);
/// The files of the access log and the audit log.
void check_logs(const config::Server& server, Findings& out);

// network_checks.cc
void check_trust(const config::Server& server, Findings& out);
void check_upstream(const config::Server& server, Findings& out);
/// Whether the addresses are free, or who has them. True: a weir of this configuration runs.
bool check_ports(const config::Server& server, Findings& out);
/// `running`: ask it.
void check_probes(const config::Server& server, bool running, Findings& out);

// redis_check.cc: every server that the configuration names is asked, and those that these name.
void check_redis(const config::Server& server, Findings& out);
/// The script that calls each command of weir's scripts.
std::string_view commands_tried() noexcept;

}  // namespace weir::app::doctor
