# The service that call_http.yaml, call_openapi.yaml and timeout_call.yaml call: python3 pets/server.py [PORT]
import http.server
import json
import sys
import threading


class Pets(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/slow":  # it never answers
            threading.Event().wait()
        if not self.path.startswith("/pets/"):
            return self.send_error(404)
        body = json.dumps({"name": "pet " + self.path.removeprefix("/pets/")}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(202 if self.path == "/orders" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int((sys.argv[1:] or [8090])[0])), Pets)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
