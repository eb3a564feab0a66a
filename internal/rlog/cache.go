package rlog

import "sync"

// cache keeps what was used lately: at least size entries, at most twice that.
// What was not asked for while size others came is dropped.
type cache[K comparable, V any] struct {
	size int

	mu       sync.Mutex
	new, old map[K]V // guarded by mu
}

func newCache[K comparable, V any](size int) cache[K, V] {
	return cache[K, V]{size: size, new: make(map[K]V), old: make(map[K]V)}
}

func (c *cache[K, V]) get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.new[k]; ok {
		return v, true
	}
	v, ok := c.old[k]
	if ok {
		c.add(k, v)
	}
	return v, ok
}

func (c *cache[K, V]) put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(k, v)
}

// add is put with c.mu held.
func (c *cache[K, V]) add(k K, v V) {
	if len(c.new) >= c.size {
		c.old, c.new = c.new, make(map[K]V, c.size)
	}
	c.new[k] = v
}
