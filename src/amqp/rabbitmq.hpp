// rabbitmq: includes the headers of rabbitmq-c under the names of the installed release. Since 0.14 the
// headers are in a directory of their own, and the old names cause warnings.
#pragma once

#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#endif
