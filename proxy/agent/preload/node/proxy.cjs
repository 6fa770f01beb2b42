// Makes Node's HTTP clients go through HTTPS_PROXY: fetch, http, https, agents of a program's own, and WebSockets.
//
// Loaded before the program, by NODE_OPTIONS (--require) in Node from 16 on and BUN_OPTIONS (--preload) in Bun. It needs
// nothing but Node itself.
// - Every connection is made with CONNECT, cleartext ones too, so that no request is written otherwise than usual.
// - Where Node itself does so (NODE_USE_ENV_PROXY, from 22.21 and 24.5 on), it is left to it.
// - A program that goes its own way on purpose (a socket path, a proxy agent of its own) is left alone.
'use strict';

const http = require('http');
const https = require('https');
const net = require('net');
const tls = require('tls');

const DISPATCHER = Symbol.for('undici.globalDispatcher.1'); // where fetch finds what connects for it
const plainRequest = http.request;
const plainConnection = http.Agent.prototype.createConnection;
const secureConnection = https.Agent.prototype.createConnection;

function proxyOf(environment) {
  const { HTTPS_PROXY, https_proxy, HTTP_PROXY, http_proxy } = environment;
  try {
    const url = new URL(HTTPS_PROXY || https_proxy || HTTP_PROXY || http_proxy || '');
    return url.protocol === 'http:' ? url : null;
  } catch {
    return null;
  }
}

const proxy = proxyOf(process.env);
const proxyHost = proxy && proxy.hostname.replace(/^\[|\]$/g, '');
const proxyPort = proxy && Number(proxy.port || 80);
const excluded = (process.env.NO_PROXY || process.env.no_proxy || '').split(/[\s,]+/).filter(Boolean);

function isDirect(host, port) {
  return (host === proxyHost && port === proxyPort) || excluded.some((entry) => {
    const name = entry.replace(/^\*?\./, '');
    return entry === '*' || host === name || host.endsWith('.' + name);
  });
}

// A connection to host:port through the proxy, handed to `done(error, socket)`.
function tunnel(host, port, done) {
  const authority = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
  const headers = { host: authority };
  if (proxy.username) {
    const said = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    headers['proxy-authorization'] = `Basic ${Buffer.from(said).toString('base64')}`;
  }
  const request = plainRequest({
    host: proxyHost, port: proxyPort, method: 'CONNECT', path: authority, headers, agent: false,
  });
  request.once('error', done);
  request.once('connect', (answer, socket, head) => {
    request.removeListener('error', done);
    if (answer.statusCode !== 200) {
      socket.destroy();
      done(new Error(`the proxy answered ${answer.statusCode} to CONNECT ${authority}`));
      return;
    }
    if (head.length) socket.unshift(head);
    done(null, socket);
  });
  request.end();
}

function serverName(options, host) {
  const name = options.servername || host;
  return net.isIP(name) ? '' : name;
}

// What createConnection of an agent does, through the proxy. Nothing is returned: the socket comes by `done`.
function through(options, isSecure, done) {
  const host = options.host || options.hostname || 'localhost';
  tunnel(host, Number(options.port) || (isSecure ? 443 : 80), (error, socket) => {
    if (error) {
      done(error);
    } else if (isSecure) {
      done(null, tls.connect({ ...options, path: undefined, socket, servername: serverName(options, host) }));
    } else {
      if (options.timeout) socket.setTimeout(options.timeout);
      if (options.noDelay) socket.setNoDelay(true);
      done(null, socket);
    }
  });
}

function goesThrough(options, isSecure) {
  if (!options || typeof options !== 'object' || options.socketPath || options.socket) return false;
  return !isDirect(options.host || options.hostname || 'localhost', Number(options.port) || (isSecure ? 443 : 80));
}

// Agents share these methods: the global ones, those of a program's own, and those derived from them.
function patchAgent(agent, original, isSecure) {
  agent.prototype.createConnection = function createConnection(options, done) {
    const isNodes = this && this.options && this.options.proxyEnv; // Node goes through the proxy by itself
    if (isNodes || typeof done !== 'function' || !goesThrough(options, isSecure)) {
      return original.apply(this, arguments);
    }
    through(options, isSecure, done);
    return undefined;
  };
}

// WebSocket libraries hand a createConnection of their own to request(), past every agent.
function patchRequest(module, isSecure) {
  for (const name of ['request', 'get']) {
    const original = module[name];
    module[name] = function request(...words) {
      const at = words.findIndex((word) => word && typeof word === 'object' && !(word instanceof URL));
      if (at >= 0 && opensWebSocket(words[at])) {
        const createConnection = (options, done) => {
          if (goesThrough(options, isSecure)) return through(options, isSecure, done);
          return words[at].createConnection(options, done);
        };
        const patched = [...words];
        patched[at] = { ...words[at], createConnection };
        return original.apply(this, patched);
      }
      return original.apply(this, words);
    };
  }
}

function opensWebSocket(options) {
  if (options.agent || typeof options.createConnection !== 'function' || options.socketPath) return false;
  const headers = options.headers || {};
  const upgrade = Object.keys(headers).find((name) => name.toLowerCase() === 'upgrade');
  return upgrade !== undefined && String(headers[upgrade]).toLowerCase() === 'websocket';
}

// fetch has an Agent class inside Node that nobody else gets at, but for the one that is in force.
function patchFetch() {
  if (typeof globalThis.Response !== 'function') return; // reading it loads what fetch is made of
  const inForce = globalThis[DISPATCHER];
  if (!inForce || inForce.constructor.name !== 'Agent') return;
  const connect = (options, done) => {
    const isSecure = options.protocol === 'https:';
    const host = options.hostname.replace(/^\[|\]$/g, '');
    const port = Number(options.port) || (isSecure ? 443 : 80);
    const opened = (error, socket) => {
      if (error) return done(error, null);
      if (!isSecure) return done(null, socket);
      const secure = tls.connect({
        socket, host, servername: serverName(options, host), ALPNProtocols: ['http/1.1'], highWaterMark: 16384,
      });
      const failed = (reason) => done(reason, null);
      secure.once('error', failed);
      return secure.once('secureConnect', () => {
        secure.removeListener('error', failed);
        done(null, secure);
      });
    };
    if (!isDirect(host, port)) return tunnel(host, port, opened);
    const socket = net.connect({ host, port });
    socket.once('error', opened);
    return socket.once('connect', () => {
      socket.removeListener('error', opened);
      opened(null, socket);
    });
  };
  globalThis[DISPATCHER] = new inForce.constructor({ connect });
}

// Bun's own WebSocket takes a proxy, where it is told of one.
function patchBunSocket() {
  const Plain = globalThis.WebSocket;
  globalThis.WebSocket = class WebSocket extends Plain {
    constructor(address, told, ...rest) {
      const options = told && typeof told === 'object' && !Array.isArray(told) ? { ...told } : { protocols: told };
      if (options.protocols === undefined) delete options.protocols;
      const url = new URL(address);
      const port = Number(url.port) || (url.protocol === 'wss:' ? 443 : 80);
      if (options.proxy === undefined && !isDirect(url.hostname, port)) options.proxy = proxy.href;
      super(address, options, ...rest);
    }
  };
}

if (proxy) {
  patchAgent(http.Agent, plainConnection, false);
  patchAgent(https.Agent, secureConnection, true);
  patchRequest(http, false);
  patchRequest(https, true);
  require('module').syncBuiltinESMExports();
  patchFetch();
  if (process.versions.bun && typeof globalThis.WebSocket === 'function') patchBunSocket();
}
if (process.env.EDGETAPE_SEED) require('./chance.cjs');
