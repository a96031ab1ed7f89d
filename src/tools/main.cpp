#include <exception>
#include <iostream>
#include <vector>

#include "base/error.h"
#include "tools/actions.h"

int main(int argc, char** argv) {
  namespace base = ingot::base;
  namespace tools = ingot::tools;
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  try {
    const tools::Options options = tools::read_options(words);
    if (options.help) {
      std::cout << tools::usage();
      return 0;
    }
    tools::Streams streams{std::cin, std::cout, std::cerr};
    return tools::run(options, streams);
  } catch (const tools::UsageError& error) {
    std::cerr << "ingot-opt: " << error.message << "; --help shows the options\n";
    return 2;
  } catch (const base::UserError& error) {
    std::cerr << error.what() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "ingot-opt: internal error: " << error.what() << "\n";
    return 3;
  }
}
