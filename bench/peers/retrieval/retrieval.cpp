// The client/server side of the mobile-agent study's retrieval task: the client asks for all documents and looks itself for those
// that it wants. `whimbrel bench mobility --part retrieval` compiles and runs it.
//
//   retrieval server PORT FOLDER plain|lz4
//   retrieval client ADDRESS PORT plain|lz4
//
// The server reads the folder once, and packs all of it once, if it is to. A connection is kept; a byte asks for everything. A client
// reads a line `WORD QUERIES SECONDS PAUSE SEED` and answers with one: for each query BEGUN_NS/TOTAL_US/TASK_US/FOUND.

#include <arpa/inet.h>
#include <lz4.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

[[noreturn]] void fail(const char *what) {
    perror(what);
    _exit(1);
}

void write_all(int socket, const char *at, size_t len) {
    while (len > 0) {
        const ssize_t written = write(socket, at, len);
        if (written <= 0) fail("write");
        at += written;
        len -= written;
    }
}

bool read_all(int socket, char *at, size_t len) {
    while (len > 0) {
        const ssize_t count = read(socket, at, len);
        if (count <= 0) return false;
        at += count;
        len -= count;
    }
    return true;
}

void put(std::string &to, std::string_view text) {
    const uint32_t len = text.size();
    to.append(reinterpret_cast<const char *>(&len), sizeof len);
    to.append(text);
}

uint32_t number_at(const char *at) {
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

std::string all_documents(const char *folder) {
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::string all;
    for (const auto &file : files) {
        std::ifstream in(file, std::ios::binary);
        put(all, file.filename().string());
        put(all, std::string(std::istreambuf_iterator<char>(in), {}));
    }
    return all;
}

// What goes over the wire: the length of everything, the length of what follows, and that.
std::string answer_of(const std::string &all, bool packed) {
    std::string body = all;
    if (packed) {
        body.resize(LZ4_compressBound(all.size()));
        body.resize(LZ4_compress_default(all.data(), body.data(), all.size(), body.size()));
    }
    const uint32_t lengths[2] = {uint32_t(all.size()), uint32_t(body.size())};
    return std::string(reinterpret_cast<const char *>(lengths), sizeof lengths) + body;
}

void set_no_delay(int socket) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int serve(uint16_t port, const char *folder, bool packed) {
    const std::string answer = answer_of(all_documents(folder), packed);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(port);
    if (bind(listener, reinterpret_cast<sockaddr *>(&here), sizeof here) != 0 || listen(listener, 64) != 0) fail("listen");
    std::cout << "ready" << std::endl;
    for (;;) {
        const int client = accept(listener, nullptr, nullptr);
        if (client < 0) fail("accept");
        set_no_delay(client);
        std::thread([client, &answer] {
            char asked;
            while (read_all(client, &asked, 1)) write_all(client, answer.data(), answer.size());
            close(client);
        }).detach();
    }
}

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

struct Client {
    int socket;
    bool packed;
    std::vector<char> body;
    std::vector<char> all;

    void fetch() {
        char lengths[8];
        write_all(socket, "?", 1);
        if (!read_all(socket, lengths, sizeof lengths)) fail("read");
        all.resize(number_at(lengths));
        body.resize(number_at(lengths + 4));
        if (!read_all(socket, body.data(), body.size())) fail("read");
        if (!packed) std::swap(all, body);
        else if (LZ4_decompress_safe(body.data(), all.data(), body.size(), all.size()) != int(all.size())) fail("lz4");
    }

    // The documents that have this word.
    std::vector<std::string> find(std::string_view word) const {
        std::vector<std::string> found;
        for (const char *at = all.data(), *end = at + all.size(); at < end;) {
            const uint32_t name = number_at(at);
            const uint32_t len = number_at(at + 4 + name);
            const char *text = at + 8 + name;
            if (memmem(text, len, word.data(), word.size())) found.emplace_back(text, len);
            at = text + len;
        }
        return found;
    }
};

int ask(const char *address, uint16_t port, bool packed) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    inet_pton(AF_INET, address, &there.sin_addr);
    Client client{socket(AF_INET, SOCK_STREAM, 0), packed, {}, {}};
    if (connect(client.socket, reinterpret_cast<sockaddr *>(&there), sizeof there) != 0) fail("connect");
    set_no_delay(client.socket);
    std::cout << "ready" << std::endl;
    std::string word;
    unsigned queries, seed;
    double seconds, pause;
    while (std::cin >> word >> queries >> seconds >> pause >> seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> rate(0.25, 0.75);
        const auto interval = [&] {
            return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(pause / rate(random)));
        };
        const auto began = Clock::now();
        auto due = began + interval() / 2;
        for (unsigned query = 0; query < queries && microseconds(Clock::now() - began) < seconds * 1e6; query++) {
            std::this_thread::sleep_until(due);
            const auto wall = std::chrono::system_clock::now().time_since_epoch();
            const auto begun = Clock::now();
            due = begun + interval();
            client.fetch();
            const auto fetched = Clock::now();
            const auto found = client.find(word);
            const auto ended = Clock::now();
            printf("%lld/%.1f/%.1f/%zu ", (long long)std::chrono::nanoseconds(wall).count(), microseconds(ended - begun),
                   microseconds(ended - fetched), found.size());
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

} // namespace

int main(int count, char **words) {
    const std::string_view role = count > 1 ? words[1] : "";
    if (role == "server" && count == 5) return serve(atoi(words[2]), words[3], !strcmp(words[4], "lz4"));
    if (role == "client" && count == 5) return ask(words[2], atoi(words[3]), !strcmp(words[4], "lz4"));
    fprintf(stderr, "usage: retrieval server PORT FOLDER plain|lz4 | retrieval client ADDRESS PORT plain|lz4\n");
    return 2;
}
