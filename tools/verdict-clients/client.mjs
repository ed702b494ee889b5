// Fetches a page from a server that the verdict service accepts: node client.mjs SOCKET HOST PORT CA-FILE
//
// Copy judge and JudgedAgent, and pass the agent to https.request: a connection is used only after an acceptance.
import fs from 'node:fs'
import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'

const invalid = 'the verdict service sent an invalid answer'

function field(kind, value) {
  const head = Buffer.alloc(5)
  head.writeUInt8(kind)
  head.writeUInt32BE(value.length, 1)
  return Buffer.concat([head, value])
}

function question(stream, host, port) {
  const number = Buffer.alloc(2), size = Buffer.alloc(4), parts = [Buffer.of(1, 1), field(1, Buffer.from(host))]
  number.writeUInt16BE(port)
  parts.push(field(2, number), field(7, Buffer.of(stream.isSessionReused() ? 1 : 0)), field(8, Buffer.from('node')))
  const seen = new Set()
  for (let next = stream.getPeerCertificate(true); next?.raw && !seen.has(next); next = next.issuerCertificate) {
    seen.add(next)
    parts.push(field(4, next.raw))
  }
  const content = Buffer.concat(parts)
  size.writeUInt32BE(content.length)
  return Buffer.concat([size, content])
}

// Throws an error unless an answer, without its length, accepts and is exactly as specified.
function check(answer) {
  const seen = new Map()
  if (answer[0] !== 1 || answer[1] !== 1) throw new Error(invalid)
  for (let at = 2; at < answer.length;) {
    const kind = answer[at], size = at + 5 <= answer.length ? answer.readUInt32BE(at + 1) : Infinity
    if (kind < 1 || kind > 3 || seen.has(kind) || size > answer.length - at - 5) throw new Error(invalid)
    seen.set(kind, answer.subarray(at + 5, at += 5 + size))
  }
  if (!seen.get(1)?.equals(Buffer.of(1))) throw new Error(`refused: ${seen.get(2) ?? ''}`)
}

// Resolves if the service at a path accepts the server of a TLSSocket, and rejects otherwise.
export function judge(stream, path, host, port) {
  return new Promise((resolve, reject) => {
    let answer = Buffer.alloc(0)
    const service = net.connect(path)
    const timer = setTimeout(() => service.destroy(new Error('no answer from the verdict service')), 10_000)
    service.on('error', reject).on('connect', () => service.write(question(stream, host, port)))
    service.on('close', () => (clearTimeout(timer), reject(new Error("the verdict service's answer is cut off"))))
    service.on('data', data => {
      answer = Buffer.concat([answer, data])
      const size = answer.length < 4 ? 2 : answer.readUInt32BE(0)
      if (size < 2 || size > 4096) return service.destroy(new Error(invalid))
      if (answer.length < 4 + size) return
      try { resolve(check(answer.subarray(4, 4 + size))) } catch (error) { reject(error) }
      service.destroy()
    })
  })
}

export class JudgedAgent extends https.Agent {
  createConnection({ service, ...options }, callback) {
    const stream = tls.connect({ ...options, servername: options.servername || options.host })
    stream.on('error', callback).once('secureConnect', () =>
      judge(stream, service, options.host, options.port)
        .then(() => callback(null, stream), error => stream.destroy(error)))
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [service, host, port, ca] = process.argv.slice(2)
  https.get({ host, port: Number(port), agent: new JudgedAgent({ service, ca: fs.readFileSync(ca) }) },
    response => response.pipe(process.stdout)).on('error', error => { throw error })
}
