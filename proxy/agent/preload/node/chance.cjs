// Draws what Node takes for chance from a seed, so that a replay draws the same. Loaded by proxy.cjs.
//
// Each process and thread draws from a lot of its own: by the seed, by its command line, and by how many of that line
// came before it (which mkdir(2) counts), so that two workers never make the same id. OpenSSL's own randomness, that of
// TLS and of keys, is left alone.
'use strict';

const crypto = require('crypto');
const fs = require('fs');

const { createHmac } = crypto;
const seed = Buffer.from(process.env.EDGETAPE_SEED, 'hex');
const lots = process.env.EDGETAPE_LOTS || '';

function keyed(key, text) {
  return createHmac('sha512', key).update(text).digest();
}

function lot() {
  const line = JSON.stringify([process.execArgv, process.argv]);
  const mark = keyed(seed, `node ${line}`).toString('hex').slice(0, 16);
  for (let number = 0; ; number += 1) {
    try {
      fs.mkdirSync(`${lots}/${mark}-${number}`);
    } catch (error) {
      if (error.code === 'EEXIST') continue;
    }
    return keyed(seed, `${mark} ${number}`);
  }
}

const key = lot();
let drawn = 0;
let rest = Buffer.alloc(0);

function take(size) {
  const pieces = [rest];
  let have = rest.length;
  while (have < size) {
    const piece = keyed(key, String(drawn));
    drawn += 1;
    have += piece.length;
    pieces.push(piece);
  }
  const all = Buffer.concat(pieces);
  rest = all.subarray(size);
  return Buffer.from(all.subarray(0, size));
}

function fraction() {
  return Number(take(8).readBigUInt64BE() >> 11n) / 2 ** 53;
}

function bytesOf(view) {
  if (ArrayBuffer.isView(view)) return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return new Uint8Array(view);
}

function fill(view, offset = 0, size = undefined) {
  const unit = view.BYTES_PER_ELEMENT || 1;
  const bytes = bytesOf(view);
  const from = offset * unit;
  bytes.set(take(size === undefined ? bytes.length - from : size * unit), from);
  return view;
}

function uuid() {
  const bytes = take(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40; // RFC 9562, section 5.4
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function answered(done, value) {
  if (typeof done !== 'function') return value;
  process.nextTick(done, null, value);
  return undefined;
}

// Bun keeps some of them to itself; those that it has under another name are reached by that.
function set(owner, name, value) {
  try {
    Object.defineProperty(owner, name, { value, writable: true, configurable: true, enumerable: true });
  } catch {
    // it stays as it is
  }
}

const randomBytes = (size, done) => answered(done, take(size));
const randomFill = (view, ...words) => {
  const done = words.pop();
  return answered(done, fill(view, ...words));
};
const randomInt = (...words) => {
  const done = typeof words[words.length - 1] === 'function' ? words.pop() : undefined;
  const [least, limit] = words.length > 1 ? words : [0, words[0]];
  return answered(done, least + Math.floor(fraction() * (limit - least)));
};

set(Math, 'random', fraction);
set(crypto, 'randomBytes', randomBytes);
set(crypto, 'pseudoRandomBytes', randomBytes);
set(crypto, 'randomFill', randomFill);
set(crypto, 'randomFillSync', fill);
set(crypto, 'randomInt', randomInt);
set(crypto, 'randomUUID', uuid);
const web = crypto.webcrypto && Object.getPrototypeOf(crypto.webcrypto);
if (web) {
  set(web, 'getRandomValues', (view) => fill(view));
  set(web, 'randomUUID', uuid);
}
if (globalThis.crypto && globalThis.crypto.randomUUID !== uuid) {
  set(globalThis.crypto, 'getRandomValues', (view) => fill(view));
  set(globalThis.crypto, 'randomUUID', uuid);
}
require('module').syncBuiltinESMExports();
