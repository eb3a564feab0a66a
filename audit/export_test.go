package audit

// Window makes windows of n pieces, so that a small log has many.
func (o *Options) Window(n int) { o.pieces = n }
