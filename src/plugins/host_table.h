// The table of functions that a plug-in calls. Each looks up the call, holds it while it works and turns exceptions into a status.
#pragma once

#include "veneer/plugin_abi.h"

namespace veneer::plugins {

class Session;

// All functions; `session` has to outlive the table.
VeneerHost host_table(Session* session);

// Its parts.
void fill_registration(VeneerHost& host);
void fill_inputs(VeneerHost& host);
void fill_values(VeneerHost& host);
void fill_makers(VeneerHost& host);
void fill_results(VeneerHost& host);
void fill_graph(VeneerHost& host);

}  // namespace veneer::plugins
