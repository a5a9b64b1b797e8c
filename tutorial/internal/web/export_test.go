package web

import "net"

// Over has the server listen elsewhere.
func (s *Server) Over(listener net.Listener) error {
	err := s.listener.Close()
	s.listener = listener
	return err
}
