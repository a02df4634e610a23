/* A C node, by OTP's library `ei`: `c_node connect|serve OWN_NAME COOKIE NODE`. It connects to NODE, or waits until that
 * connects, tells the process registered as `c_node_user` its pid, and sends back what comes as {From, Message}. */
#include <ei.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

static void fail(const char *what) {
    fprintf(stderr, "c_node: %s: error %d\n", what, erl_errno);
    exit(1);
}

/* Sends {OwnPid, Term} with the term's bytes as they came. */
static void answer(int fd, ei_cnode *node, erlang_pid *to, const char *term, int length) {
    ei_x_buff out;
    ei_x_new_with_version(&out);
    ei_x_encode_tuple_header(&out, 2);
    ei_x_encode_pid(&out, ei_self(node));
    ei_x_append_buf(&out, term, length);
    if (ei_send(fd, to, out.buff, out.index) < 0) fail("send");
    ei_x_free(&out);
}

/* One message: 0 when it was {From, stop}. */
static int serve(int fd, ei_cnode *node, char *bytes) {
    int index = 0, version, arity;
    erlang_pid from;
    char word[MAXATOMLEN_UTF8];
    if (ei_decode_version(bytes, &index, &version) < 0 || ei_decode_tuple_header(bytes, &index, &arity) < 0 || arity != 2
        || ei_decode_pid(bytes, &index, &from) < 0)
        fail("message");
    int start = index;
    if (ei_decode_atom(bytes, &index, word) == 0 && strcmp(word, "stop") == 0) return 0;
    index = start;
    if (ei_skip_term(bytes, &index) < 0) fail("term");
    answer(fd, node, &from, bytes + start, index - start);
    return 1;
}

int main(int count, char **given) {
    if (count != 5) return 2;
    ei_cnode node;
    struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
    char full_name[MAXNODELEN];
    snprintf(full_name, sizeof full_name, "%s@127.0.0.1", given[2]);
    if (ei_init() != 0) fail("init");
    if (ei_connect_xinit(&node, "127.0.0.1", given[2], full_name, (Erl_IpAddr)&loopback, given[3], 1) < 0) fail("name");
    int fd;
    if (strcmp(given[1], "connect") == 0) {
        if ((fd = ei_connect_tmo(&node, given[4], WAIT_MS)) < 0) fail("connect");
    } else {
        int port = 0, listener = ei_listen(&node, &port, 5);
        ErlConnect other;
        if (listener < 0 || ei_publish_tmo(&node, port, WAIT_MS) < 0) fail("publish");
        printf("ready\n");
        fflush(stdout);
        if ((fd = ei_accept_tmo(&node, listener, &other, WAIT_MS)) < 0) fail("accept");
        if (strcmp(other.nodename, given[4]) != 0) fail("stranger");
    }
    ei_x_buff out, in;
    ei_x_new_with_version(&out);
    ei_x_encode_tuple_header(&out, 2);
    ei_x_encode_atom(&out, "c_node");
    ei_x_encode_pid(&out, ei_self(&node));
    if (ei_reg_send(&node, fd, "c_node_user", out.buff, out.index) < 0) fail("reg_send");
    ei_x_new(&in);
    for (;;) {
        erlang_msg message;
        in.index = 0;
        switch (ei_xreceive_msg_tmo(fd, &message, &in, WAIT_MS)) {
        case ERL_TICK: break;
        case ERL_MSG:
            if ((message.msgtype == ERL_SEND || message.msgtype == ERL_REG_SEND) && !serve(fd, &node, in.buff)) {
                close(fd);
                return 0;
            }
            break;
        default: fail("receive");
        }
    }
}
