#pragma once

#include <new>
#include <stdexcept>

namespace weir {

/// Runs `step`. False: the step ended early because an allocation failed. The owner of all that the
/// step worked on then ends it (a connection, a call, a reload), and the process continues.
template <class Step>
bool survives_no_memory(Step&& step) noexcept {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::length_error&) {  // of a container that would be larger than can be
    return false;
  }
}

}  // namespace weir
