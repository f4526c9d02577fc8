#include "jobs/job.h"

#include "graph/json_text.h"

namespace veneer::jobs {

std::string Job::wire_text() const {
  const std::string number_text = graph::dump_json(number);
  const std::string id_text = graph::dump_json(id);
  std::string text;
  text.reserve(number_text.size() + id_text.size() + prompt_text.size() + extra_text.size() + outputs_text.size() + 16);
  text += "[";
  text += number_text;
  for (const std::string* part : {&id_text, &prompt_text, &extra_text, &outputs_text}) {
    text += ", ";
    text += *part;
  }
  text += "]";
  return text;
}

}  // namespace veneer::jobs
