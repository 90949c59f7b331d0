import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A proxy on loopback. It leads every host to a port of this machine, and remembers what was asked of it. */
export class FakeProxy implements AsyncDisposable {
  /** `CONNECT host:port`, or the method and the whole URL. */
  readonly requests: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  /** Answers of the next requests in place of what it leads to. */
  readonly refusals: number[] = [];
  readonly #server: Server;

  private constructor(port: () => number) {
    this.#server = createServer((request, response) => {
      this.#note(`${request.method} ${request.url}`, request.headers['proxy-authorization']);
      const refusal = this.refusals.shift();
      if (refusal !== undefined) return void response.writeHead(refusal).end();
      const { pathname, search } = new URL(request.url ?? '');
      const { 'proxy-authorization': _, ...headers } = request.headers;
      const options = { host: '127.0.0.1', port: port(), method: request.method, path: pathname + search, headers };
      const onward = httpRequest(options, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    });
    this.#server.on('connect', (request, socket) => {
      this.#note(`CONNECT ${request.url}`, request.headers['proxy-authorization']);
      const refusal = this.refusals.shift();
      if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
      const onward = connect(port(), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      for (const end of [socket, onward]) end.on('error', () => end.destroy());
    });
  }

  static async open(port: () => number): Promise<FakeProxy> {
    const proxy = new FakeProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #note(request: string, authorization: string | undefined): void {
    this.requests.push(request);
    this.authorizations.push(authorization);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
