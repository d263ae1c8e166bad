#!/bin/sh
# POST user=NAME&password=secret: 200, any other password 401. CGI of busybox' httpd.
read -r -n "${CONTENT_LENGTH:-0}" body || true
case $body in
  *password=secret*) printf 'Status: 200 OK\r\nContent-Type: text/plain\r\n\r\nwelcome\n' ;;
  *) printf 'Status: 401 Unauthorized\r\nContent-Type: text/plain\r\n\r\nwrong password\n' ;;
esac
