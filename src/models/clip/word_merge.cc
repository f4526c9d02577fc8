#include "models/clip/word_merge.h"

namespace veneer::models {

void WordMerger::propose(int32_t position) {
  if (position < 0) return;
  const auto at = static_cast<size_t>(position);
  if (next_[at] < 0) return;
  const int32_t token = vocabulary_.merged(tokens_[at], tokens_[static_cast<size_t>(next_[at])]);
  if (token >= 0) candidates_.push({token, position});
}

void WordMerger::merge(std::string_view word, std::vector<int32_t>& out) {
  const auto length = static_cast<int32_t>(word.size());
  tokens_.clear();
  next_.clear();
  previous_.clear();
  for (int32_t i = 0; i < length; ++i) {
    tokens_.push_back(vocabulary_.byte_token(static_cast<uint8_t>(word[static_cast<size_t>(i)]), i == length - 1));
    next_.push_back(i + 1 < length ? i + 1 : -1);
    previous_.push_back(i - 1);
  }
  for (int32_t i = 0; i < length; ++i) propose(i);

  // Every symbol comes from one merge, and only later merges can use it (BpeVocabulary::parse accepts no other table). So taking single pairs in the
  // order (rank, position) gives the same as merging all occurrences of the smallest pair at once.
  while (!candidates_.empty()) {
    const Candidate candidate = candidates_.top();
    candidates_.pop();
    const auto left = static_cast<size_t>(candidate.position);
    if (tokens_[left] < 0 || next_[left] < 0) continue;
    const auto right = static_cast<size_t>(next_[left]);
    if (vocabulary_.merged(tokens_[left], tokens_[right]) != candidate.token) continue;
    tokens_[left] = candidate.token;
    tokens_[right] = -1;
    next_[left] = next_[right];
    if (next_[left] >= 0) previous_[static_cast<size_t>(next_[left])] = candidate.position;
    propose(previous_[left]);
    propose(candidate.position);
  }
  for (int32_t i = 0; i >= 0; i = next_[static_cast<size_t>(i)]) out.push_back(tokens_[static_cast<size_t>(i)]);
}

}  // namespace veneer::models
