// One question, one streamed answer, with the C++ API.
//   chat_once [MODEL.gguf [QUESTION [MAX_TOKENS]]]
// Without a model it takes the default one, fetched into your cache the first time.
#include <qualia/session.h>

#include <cstdlib>
#include <iostream>

namespace {

qualia::Result<qualia::Reply> chat_once(const std::string& model_path, const std::string& question,
                                        const qualia::GenerateOptions& options) {
  const auto runtime = qualia::Runtime::create();
  if (!runtime) return tl::unexpected(runtime.error());

  const auto path = model_path.empty() ? runtime->fetch_default_model()
                                       : qualia::Result<std::filesystem::path>(model_path);
  if (!path) return tl::unexpected(path.error());

  const auto model = qualia::Model::load(*runtime, *path);
  if (!model) return tl::unexpected(model.error());
  std::cerr << "Runs on " << model->path().winning_circuit << ".\n";

  auto session = qualia::Session::create(*model);
  if (!session) return tl::unexpected(session.error());
  const qualia::ChatMessage messages[] = {{"user", question}};
  return session->chat(messages, options,
                       [](std::string_view text) { std::cout << text << std::flush; });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model_path = argc > 1 ? argv[1] : "";
  const std::string question = argc > 2 ? argv[2] : "What is the capital of France?";
  qualia::GenerateOptions options;
  options.sampling.temperature = 0;  // the best token each time
  if (argc > 3) options.max_tokens = static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10));

  const auto reply = chat_once(model_path, question, options);
  if (!reply) {
    std::cerr << reply.error().message << '\n';
    return 1;
  }
  std::cout << '\n';
  std::cerr << reply->completion_tokens << " tokens, " << reply->timings.decode_tok_s()
            << " tokens/s, ended by " << qualia::to_string(reply->finish_reason) << ".\n";
  return 0;
}
